"""Renders the document of operators' commands, and from it the reference.

    commands.py render SCHEMAS docs/commands.json docs/commands-reference.md     writes both
    commands.py check SCHEMAS docs/commands.json docs/commands-reference.md

SCHEMAS is what `shared/wire` prints. `check` compares the committed files with what `render` would write.
"""

import json
import pathlib
import sys

HEAD = """# Reference of the commands

What each [command](commands.md) takes, and the `result` that it answers. [`commands.json`](commands.json) has the same with JSON
schemas, and `infra/openapi.sh render` makes both from `shared/wire`.

Every command takes `caller`, too. A field that may be left out may be `null` as well, except `settings`. Beside each moment
of a result, such as `joined_at_ms`, the same stands as a text in UTC, `joined_at`. These fields mean the same in each command:
"""

# Fields that mean the same in each command that has them, with the command whose description stands for all.
SHARED_FIELDS = {"queue": "stats", "token": "lane", "visitor": "lane", "kind": "lane", "confirm": "close", "epoch": "close"}


def name_values(schema, schemas):
    """Returns what values a field takes, in words."""
    if "allOf" in schema:
        schema = {**schema, **schema["allOf"][0]}
    if schema.get("nullable"):
        return f"{name_values({**schema, 'nullable': False}, schemas)}, or `null`"
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        target = schemas[name]
        return name_values(target, schemas) if "enum" in target else f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    kind = schema.get("type")
    if kind in ("integer", "number"):
        bounds = (schema.get("minimum"), schema.get("maximum"))
        if None in bounds or bounds[1] >= 2**31:
            return "a whole number" if kind == "integer" else "a number"
        return f"{bounds[0]:,} to {bounds[1]:,}"
    if kind == "array":
        items = name_values(schema["items"], schemas)
        return "a list of texts" if items == "a text" else f"a list of {items}"
    return {"string": "a text", "boolean": "`true` or `false`", "object": "an object"}.get(kind, "any value")


def describe(schema):
    """Returns the description of a field for a cell of a table."""
    text = schema.get("description") or ""
    return text.replace("|", "\\|").replace("\n", " ")


def write_table(head, properties, schemas, required=()):
    yield f"| {head} | values | meaning |"
    yield "| --- | --- | --- |"
    for name, schema in properties.items():
        yield f"| `{name}`{' (required)' * (name in required)} | {name_values(schema, schemas)} | {describe(schema)} |"
    yield ""


def write_reference(document):
    """Returns the reference in Markdown."""
    commands, schemas = document["commands"], document["schemas"]
    lines = [HEAD]
    shared = {name: commands[command]["arguments"]["properties"][name] for name, command in SHARED_FIELDS.items()}
    lines += [*write_table("field", shared, schemas), "## Commands", ""]
    for name, command in commands.items():
        lines += [f"### `{name}`", "", command["meaning"], ""]
        fields = command["arguments"]["properties"]
        # A field that means something else here has a row.
        own = {field: schema for field, schema in fields.items() if schema != shared.get(field)}
        required = command["arguments"]["required"]
        common = [f"`{field}`" + " (required)" * (field in required) for field in fields if field not in own]
        notes = [f"Right: `{command['right']}`."]
        if common:
            notes.append(f"Takes {', '.join(common)}.")
        results = command.get("results", [])
        if results:
            notes.append("Answers with " + " or ".join(f"[{result}](#{result.lower()})" for result in results) + ".")
        lines += [" ".join(notes), ""]
        if own:
            lines += write_table("field", own, schemas, required)
    lines += ["## Results", ""]
    for name, schema in schemas.items():
        if "properties" in schema:
            lines += [f"### {name}", "", schema.get("description", ""), ""]
            lines += write_table("member", schema["properties"], schemas)
    return "\n".join(lines)


def to_text(document):
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def main(command, schemas_path, document_path, reference_path):
    document = json.loads(pathlib.Path(schemas_path).read_text(encoding="utf-8"))["commands"]
    for path, text in ((document_path, to_text(document)), (reference_path, write_reference(document))):
        if command == "render":
            pathlib.Path(path).write_text(text, encoding="utf-8")
        elif not pathlib.Path(path).exists() or pathlib.Path(path).read_text(encoding="utf-8") != text:
            return f"{path} is out of date: run infra/openapi.sh render"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
