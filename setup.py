"""What setup.cfg cannot say: every package of the floors is installed below `actorlet._floors`.

Then a wheel adds one package to site-packages, and no common name such as `config`. `actorlet/_process.py` puts that
folder on the path of actorlet's own processes, where path equals import as it does in this repository.
"""

from setuptools import find_packages, setup

FLOORS = ("config", "runtime", "actors", "simulation", "cli")

found = find_packages(include=[pattern for floor in FLOORS for pattern in (floor, f"{floor}.*")])
setup(
    packages=["actorlet", *(f"actorlet._floors.{package}" for package in found)],
    package_dir={f"actorlet._floors.{floor}": floor for floor in FLOORS},
)
