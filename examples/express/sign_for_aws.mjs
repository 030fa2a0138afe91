// Signs requests for a stack whose ServiceAuth is iam. The credentials come from where every AWS SDK finds them: a role
// of the machine or the container, a profile, or environment variables.

import { Sha256 } from "@aws-crypto/sha256-js";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { SignatureV4 } from "@smithy/signature-v4";

const signer = new SignatureV4({
  service: "execute-api",
  region: process.env.AWS_REGION,
  credentials: defaultProvider(),
  sha256: Sha256,
});

/** Returns the headers of a POST request, with the signature. */
export async function signHeaders(address, headers, body) {
  const { protocol, host, hostname, pathname } = new URL(address);
  const request = { method: "POST", protocol, hostname, path: pathname, headers: { ...headers, host }, body };
  return (await signer.sign(request)).headers;
}
