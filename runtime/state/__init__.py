"""Files in which the agent keeps what it must not forget, and files that configure it.

`allocation_file.py` holds what was given to which pod, `id_files.py` the ids of user namespaces, `certificate_keys.py`
keys and certificates, `pull_record_files.py` who pulled which image. `config_files.py` and `docker_config_files.py`
read.
"""
