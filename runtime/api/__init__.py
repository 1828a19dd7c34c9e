"""The API server as this node sees it: calls as data, one way to make them, one kind of error.

`calls` says what may be asked, `capability` who may be asked, `errors` how it fails. The real client is in
`runtime.api.client`; the simulated API server of the fourth floor answers the same calls.
"""

from runtime.api.calls import (
    ApiCall,
    ObjectList,
    PatchType,
    WatchCall,
    WatchEvent,
    create,
    create_unread,
    delete,
    delete_all,
    get,
    in_turn_of,
    list_objects,
    patch,
    unread,
    update,
    watch_objects,
)
from runtime.api.capability import Api, ApiLines, BootstrapApi
from runtime.api.errors import ApiError, as_api_error
