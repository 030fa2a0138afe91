"""Says whether the document of the API is OpenAPI, once CloudFormation has put in what it fills in.

    check-openapi.py infra/openapi.yaml

Of each Fn::If, both ways are looked at, all choices taken alike.
"""

import sys

import yaml
from openapi_spec_validator import OpenAPIV30SpecValidator
from referencing.exceptions import Unresolvable

LEFT_OUT = {"Ref": "AWS::NoValue"}


def filled(node, yes):
    """The node with every intrinsic filled in; conditions are `yes`."""
    if isinstance(node, list):
        return [filled(item, yes) for item in node if chosen(item, yes) != LEFT_OUT]
    if not isinstance(node, dict):
        return node
    node = chosen(node, yes)
    if not isinstance(node, dict):
        return node
    if set(node) == {"Fn::Sub"}:
        return node["Fn::Sub"]
    if set(node) == {"Ref"}:
        return node["Ref"]
    return {name: filled(value, yes) for name, value in node.items() if chosen(value, yes) != LEFT_OUT}


def chosen(node, yes):
    while isinstance(node, dict) and set(node) == {"Fn::If"}:
        _, if_so, else_so = node["Fn::If"]
        node = if_so if yes else else_so
    return node


def main(path):
    with open(path, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    try:
        for yes in (True, False):
            for error in OpenAPIV30SpecValidator(filled(document, yes)).iter_errors():
                place = "/".join(str(part) for part in error.absolute_path)
                print(f"{path}: at {place}: {error.message}", file=sys.stderr)
                return 1
    except Unresolvable as error:
        print(f"{path}: there is no {error.ref}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
