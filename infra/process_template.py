"""Prints templates as CloudFormation sees them: AWS::Include is done, and then the Serverless transform.

    process_template.py TEMPLATE...

Each template is YAML or JSON, and becomes one line of JSON. It runs in the environment of the SAM CLI, whose translator is
the one of CloudFormation. It asks no AWS account: where the translator needs code in S3, it gets a name.
"""

import json
import logging
import os
import sys
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

REGION = "us-east-1"
# `sam package` puts the code there.
PACKAGED_CODE = "s3://packages/functions.zip"


def load(path):
    """Reads YAML or JSON. The reader of YAML takes seconds for a large document."""
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if text.startswith("{") else yaml_parse(text)


def include(node, folder):
    """Returns the node with each AWS::Include replaced by the file that it names."""
    if isinstance(node, list):
        return [include(item, folder) for item in node]
    if not isinstance(node, dict):
        return node
    transform = node.get("Fn::Transform")
    if isinstance(transform, dict) and transform.get("Name") == "AWS::Include":
        return load(folder / transform["Parameters"]["Location"])
    return {name: include(value, folder) for name, value in node.items()}


def process(path):
    """Returns the processed template."""
    template = include(load(path), path.parent)
    template["Globals"]["Function"]["CodeUri"] = PACKAGED_CODE
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name=REGION))
    return translator.translate(template, {})


if __name__ == "__main__":
    os.environ["AWS_DEFAULT_REGION"] = REGION
    # It warns of a switch of AWS's own service, which only that service sets.
    logging.getLogger("samtranslator").setLevel(logging.ERROR)
    for name in sys.argv[1:]:
        print(json.dumps(process(Path(name))))
