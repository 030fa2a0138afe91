"""Makes what a stack has besides its functions, in an emulator: the tables and the secrets, as the template says.

    sam-local.py TEMPLATE ENDPOINT

Prints the variables of the functions that name them, as JSON. What is there already stays as it is. Runs in the SAM
CLI's own environment, for its boto3 and its reader of templates.
"""

import json
import sys
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_parse

TABLES = {"QueuesTable": "VESTIBULE_QUEUES_TABLE", "EntriesTable": "VESTIBULE_ENTRIES_TABLE"}
SECRETS = {"RootKeySecret": "VESTIBULE_ROOT_KEY_SECRET", "SigningKeySecret": "VESTIBULE_SIGNING_KEY_SECRET"}


def make_table(dynamodb, name, properties):
    asked = {key: properties[key] for key in ("KeySchema", "AttributeDefinitions")}
    try:
        dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **asked)
    except dynamodb.exceptions.ResourceInUseException:
        pass
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


def make_secret(secrets, name, properties):
    # CloudFormation's words for a generated secret are those of the service's own operation.
    text = secrets.get_random_password(**properties["GenerateSecretString"])["RandomPassword"]
    try:
        secrets.create_secret(Name=name, SecretString=text)
    except secrets.exceptions.ResourceExistsException:
        pass


def main(template, endpoint):
    resources = yaml_parse(Path(template).read_text())["Resources"]
    dynamodb = boto3.client("dynamodb", endpoint_url=endpoint)
    secrets = boto3.client("secretsmanager", endpoint_url=endpoint)
    variables = {}
    for logical_id, variable in TABLES.items():
        variables[variable] = f"vestibule-{logical_id}"
        make_table(dynamodb, variables[variable], resources[logical_id]["Properties"])
    for logical_id, variable in SECRETS.items():
        variables[variable] = f"vestibule-{logical_id}"
        make_secret(secrets, variables[variable], resources[logical_id]["Properties"])
    print(json.dumps(variables))


if __name__ == "__main__":
    main(*sys.argv[1:])
