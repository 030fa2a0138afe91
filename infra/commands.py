"""Renders the document of operators' commands, and from it the reference at the end of the guide.

    commands.py render SCHEMAS docs/commands.json docs/commands.md     writes both
    commands.py check SCHEMAS docs/commands.json docs/commands.md

SCHEMAS is what `shared/wire` prints. The guide has the reference between two marks. `check` compares the committed files with
what `render` would write.
"""

import json
import pathlib
import re
import sys

# The part of the guide that is written.
REFERENCE = re.compile(r"(?<=<!-- reference begins -->\n).*?(?=<!-- reference ends -->\n)", re.DOTALL)

# Fields that mean the same in each command that has them. The guide explains them once.
SHARED_FIELDS = ("queue", "token", "visitor", "kind", "confirm", "epoch")


def name_values(schema, schemas):
    """Returns what values a field takes, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        target = schemas[name]
        return name_values(target, schemas) if "enum" in target else f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    kind = schema.get("type")
    if kind in ("integer", "number"):
        bounds = (schema.get("minimum"), schema.get("maximum"))
        if None in bounds or bounds[1] >= 2**32 - 1:
            return "a whole number" if kind == "integer" else "a number"
        return f"{bounds[0]:,} to {bounds[1]:,}"
    if kind == "array":
        return f"a list: {name_values(schema['items'], schemas)}"
    return {"string": "a text", "boolean": "`true` or `false`", "object": "an object"}.get(kind, "any value")


def describe(schema, schemas):
    """Returns the description of a field: its own, or that of its type."""
    target = schemas[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else {}
    text = schema.get("description") or target.get("description") or ""
    return text.replace("|", "\\|").replace("\n", " ")


def write_table(head, properties, schemas):
    yield f"| {head} | takes | meaning |" if head == "field" else f"| {head} | is | meaning |"
    yield "| --- | --- | --- |"
    for name, schema in properties.items():
        yield f"| `{name}` | {name_values(schema, schemas)} | {describe(schema, schemas)} |"
    yield ""


def write_reference(document):
    """Returns the reference in Markdown."""
    commands, schemas = document["commands"], document["schemas"]
    lines = []
    shared = {}
    for command in commands.values():
        for name, schema in command["arguments"]["properties"].items():
            if name in SHARED_FIELDS:
                shared.setdefault(name, schema)
    lines += write_table("field", {name: shared[name] for name in SHARED_FIELDS}, schemas)
    for name, command in commands.items():
        lines += [f"#### `{name}`", "", command["meaning"], ""]
        fields = command["arguments"]["properties"]
        own = {field: schema for field, schema in fields.items() if field not in SHARED_FIELDS}
        common = [f"`{field}`" for field in fields if field in SHARED_FIELDS]
        notes = [f"Right: `{command['right']}`."]
        if common:
            notes.append(f"Takes {', '.join(common)}.")
        results = command.get("results", [])
        if results:
            notes.append("Answers with " + " or ".join(f"[{result}](#{result.lower()})" for result in results) + ".")
        lines += [" ".join(notes), ""]
        if own:
            lines += write_table("field", own, schemas)
    for name, schema in schemas.items():
        if "properties" in schema:
            lines += [f"#### {name}", "", schema.get("description", ""), ""]
            lines += write_table("member", schema["properties"], schemas)
    return "\n".join(lines)


def to_text(document):
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def main(command, schemas_path, document_path, guide_path):
    document = json.loads(pathlib.Path(schemas_path).read_text(encoding="utf-8"))["commands"]
    guide = pathlib.Path(guide_path).read_text(encoding="utf-8")
    reference = "\n" + write_reference(document)
    rendered = REFERENCE.sub(lambda _: reference, guide, count=1)
    for path, text in ((document_path, to_text(document)), (guide_path, rendered)):
        if command == "render":
            pathlib.Path(path).write_text(text, encoding="utf-8")
        elif not pathlib.Path(path).exists() or pathlib.Path(path).read_text(encoding="utf-8") != text:
            return f"{path} is out of date: run infra/openapi.sh render"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
