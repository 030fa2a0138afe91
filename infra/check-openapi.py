"""Checks that the API's document is valid OpenAPI after CloudFormation has resolved its intrinsics.

    check-openapi.py infra/openapi.yaml

It checks the document twice: once with every condition true, once with every condition false.
"""

import sys

import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator
from referencing.exceptions import Unresolvable

NO_VALUE = {"Ref": "AWS::NoValue"}


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


def main(path):
    with open(path, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    try:
        for condition in (True, False):
            for error in OpenAPIV30SpecValidator(resolve(document, condition)).iter_errors():
                place = "/".join(str(part) for part in error.absolute_path)
                print(f"{path}: at {place}: {error.message}", file=sys.stderr)
                return 1
    except Unresolvable as error:
        print(f"{path}: the reference {error.ref} does not exist", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
