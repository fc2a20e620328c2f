"""Model files taken apart, changed and put together again, as an attacker would."""

import json
import zipfile


def nodes(node):
    """Yield all nodes of a description."""
    if isinstance(node, dict):
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(item)


def json_node(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, entries):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def tamper(path, change):
    """Rewrite the description inside a model file."""
    entries = contents(path)
    schema = json.loads(entries["schema.json"])
    change(schema)
    rewrite(path, entries | {"schema.json": json.dumps(schema).encode()})
