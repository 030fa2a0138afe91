# Signs requests for a stack whose ServiceAuth is iam. The credentials come from where every AWS SDK finds them: a role of
# the machine or the container, a profile, or environment variables.

from collections.abc import Generator
from os import environ

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.session import Session


class AwsSignature(httpx.Auth):
    requires_request_body = True

    def __init__(self) -> None:
        self._credentials = Session().get_credentials()

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        # Only these: proxies may change the other headers.
        headers = {"Content-Type": request.headers["Content-Type"]}
        signed = AWSRequest(request.method, str(request.url), headers, request.content)
        # Frozen, because credentials may be renewed while they are used.
        credentials = self._credentials.get_frozen_credentials()
        SigV4Auth(credentials, "execute-api", environ["AWS_REGION"]).add_auth(signed)
        request.headers.update(dict(signed.headers))
        yield request
