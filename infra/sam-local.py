"""Creates the tables and secrets of the template in an emulator.

    sam-local.py TEMPLATE ENDPOINT

Prints the environment variables with which the functions find them, as JSON. Existing tables and secrets stay
unchanged. Runs in the virtual environment of the SAM CLI, because it uses its boto3 and its template parser.
"""

import json
import sys
from pathlib import Path

import boto3
from samcli.yamlhelper import yaml_parse

TABLES = {"QueuesTable": "VESTIBULE_QUEUES_TABLE", "EntriesTable": "VESTIBULE_ENTRIES_TABLE"}
SECRETS = {"RootKeySecret": "VESTIBULE_ROOT_KEY_SECRET", "SigningKeySecret": "VESTIBULE_SIGNING_KEY_SECRET"}


def create_table(dynamodb, name, properties):
    schema = {key: properties[key] for key in ("KeySchema", "AttributeDefinitions")}
    try:
        dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **schema)
    except dynamodb.exceptions.ResourceInUseException:
        pass
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


def create_secret(secrets, name, properties):
    # The properties of GenerateSecretString in CloudFormation are the arguments of this operation.
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
        create_table(dynamodb, variables[variable], resources[logical_id]["Properties"])
    for logical_id, variable in SECRETS.items():
        variables[variable] = f"vestibule-{logical_id}"
        create_secret(secrets, variables[variable], resources[logical_id]["Properties"])
    print(json.dumps(variables))


if __name__ == "__main__":
    main(*sys.argv[1:])
