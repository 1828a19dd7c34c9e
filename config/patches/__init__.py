"""The three kinds of patches of the API: merge patch, JSON patch, strategic merge patch."""

from config.patches.errors import PatchError
from config.patches.json_patch import apply_json_patch
from config.patches.merge_patch import merge_patch
from config.patches.strategic import apply_strategic, make_strategic
from config.patches.strategic_schema import Schema, schema_for
