"""Renders and checks the API's document.

    openapi.py render SCHEMAS infra/openapi.yaml infra/openapi-plain.yaml docs/openapi.json     writes the first and the last
    openapi.py check SCHEMAS infra/openapi.yaml infra/openapi-plain.yaml docs/openapi.json

SCHEMAS is what `shared/wire` prints. infra/openapi.yaml is what is deployed, and CloudFormation resolves its intrinsics. Between
two marks it has the models of the bodies that API Gateway checks. `check` validates it twice, once with every condition true,
once with every condition false. The plain document is the same API for other tools, with all schemas and with what
infra/openapi-plain.yaml adds, without intrinsics and without what only API Gateway reads. `check` validates it, and compares the
committed files with what `render` would write.
"""

import json
import pathlib
import re
import sys

import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator
from referencing.exceptions import Unresolvable

NO_VALUE = {"Ref": "AWS::NoValue"}

# Browsers send preflights by themselves, and HEAD means what GET means, so no client and no reader of the reference has use
# for these operations.
IMPLIED_METHODS = {"head", "options"}

# The part of the deployed document that is written.
MODELS = re.compile(r"(?<=    # schemas begin\n).*?(?=    # schemas end\n)", re.DOTALL)

# What a guarded operation may ask for. A deployment chooses one of these, and the runner asks for nothing.
CREDENTIALS = [{}, {"authorization": []}, {"api_key": []}]


def resolve(node, condition):
    """Returns the node with every intrinsic resolved. All conditions have the value `condition`."""
    if isinstance(node, list):
        return [resolve(item, condition) for item in node if choose(item, condition) != NO_VALUE]
    if not isinstance(node, dict):
        return node
    node = choose(node, condition)
    if not isinstance(node, dict):
        return node
    if set(node) == {"Fn::Sub"}:
        return node["Fn::Sub"]
    if set(node) == {"Ref"}:
        return node["Ref"]
    return {name: resolve(value, condition) for name, value in node.items() if choose(value, condition) != NO_VALUE}


def choose(node, condition):
    """Returns the branch of Fn::If that `condition` selects; any other node unchanged."""
    while isinstance(node, dict) and set(node) == {"Fn::If"}:
        _, if_true, if_false = node["Fn::If"]
        node = if_true if condition else if_false
    return node


def write_models(text, models):
    """Returns the deployed document with these models between its marks. A value is JSON, which YAML contains."""
    lines = []
    for name, model in models.items():
        lines.append(f"    {name}:\n")
        for key, value in model.items():
            if key == "properties":
                lines.append("      properties:\n")
                lines += [f"        {field}: {json.dumps(schema)}\n" for field, schema in value.items()]
            else:
                lines.append(f"      {key}: {json.dumps(value)}\n")
    return MODELS.sub(lambda _: "".join(lines), text, count=1)


def render(deployed, additions, schemas):
    """Returns the plain document."""
    # With every condition false, each operation that a deployment can guard has a guard.
    document = remove_extensions(resolve(deployed, False))
    del document["components"]["securitySchemes"]
    document["components"]["schemas"] = schemas
    for path in document["paths"].values():
        for method in IMPLIED_METHODS & set(path):
            del path[method]
        for operation in path.values():
            if isinstance(operation, dict):
                operation["security"] = CREDENTIALS if operation["security"] else []
    return merge(document, additions)


def remove_extensions(node):
    """Returns the node without the extensions of API Gateway."""
    if isinstance(node, list):
        return [remove_extensions(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {name: remove_extensions(value) for name, value in node.items() if not str(name).startswith("x-amazon-")}


def merge(base, additions):
    """Returns `base` with the fields of `additions`, which win. A name that only `additions` has comes before the next
    name that both have, or at the end."""
    if not (isinstance(base, dict) and isinstance(additions, dict)):
        return additions
    names = list(base)
    place = len(names)
    for name in reversed(additions):
        if name in base:
            place = names.index(name)
        else:
            names.insert(place, name)
    return {name: merge(base.get(name), additions[name]) if name in additions else base[name] for name in names}


def to_text(document):
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def validate(name, document):
    """Returns what is wrong with the document."""
    try:
        for error in OpenAPIV30SpecValidator(document).iter_errors():
            place = "/".join(str(part) for part in error.absolute_path)
            return f"{name}: at {place}: {error.message}"
    except Unresolvable as error:
        return f"{name}: the reference {error.ref} does not exist"
    return None


def find_vague_integers(node, place=""):
    """Yields where a schema has an integer without a format or a bound. A generated client would take it for 32 bits."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from find_vague_integers(item, f"{place}/{index}")
    if not isinstance(node, dict):
        return
    if node.get("type") == "integer" and not {"format", "minimum", "maximum"} <= set(node):
        yield place
    for name, value in node.items():
        yield from find_vague_integers(value, f"{place}/{name}")


def add_responses(document):
    """Returns the deployed document with a response for each operation. OpenAPI requires one, API Gateway none."""
    for path in document["paths"].values():
        for operation in path.values():
            if isinstance(operation, dict):
                operation["responses"] = {"default": {"description": "See infra/openapi-plain.yaml"}}
    return document


def check(deployed_path, deployed, committed_path, plain):
    """Returns what is wrong with the deployed document or the plain one."""
    return (
        validate(deployed_path, add_responses(resolve(deployed, True)))
        or validate(deployed_path, add_responses(resolve(deployed, False)))
        or validate(committed_path, plain)
        or next((f"{committed_path}: {place} needs format, minimum and maximum" for place in find_vague_integers(plain)), None)
    )


def main(command, schemas_path, deployed_path, additions_path, committed_path):
    schemas = json.loads(pathlib.Path(schemas_path).read_text(encoding="utf-8"))
    deployed_text = write_models(pathlib.Path(deployed_path).read_text(encoding="utf-8"), schemas["gateway"])
    deployed = yaml.safe_load(deployed_text)
    additions = yaml.safe_load(pathlib.Path(additions_path).read_text(encoding="utf-8"))
    plain = render(deployed, additions, schemas["clients"])
    for path, text in ((deployed_path, deployed_text), (committed_path, to_text(plain))):
        if command == "render":
            pathlib.Path(path).write_text(text, encoding="utf-8")
        elif pathlib.Path(path).read_text(encoding="utf-8") != text:
            return f"{path} is out of date: run infra/openapi.sh render"
    return check(deployed_path, deployed, committed_path, plain)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
