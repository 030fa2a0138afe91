// The draw: the order that the published seed gives to an entry that came before the opening.

const HIGH_BITS = 32;
const ORDER_BITS = 49;

const toBytes = (hex: string) =>
  Uint8Array.from(hex.replace(/-/g, "").match(/../g) ?? [], (pair) => parseInt(pair, 16));

/**
 * The first 49 bits of HMAC-SHA256(seed, token). `undefined` where there is no WebCrypto, such as on a page without TLS:
 * then the client learns its place from the server.
 */
export async function drawnOrder(seed: string, token: string): Promise<number | undefined> {
  try {
    const { subtle } = globalThis.crypto;
    const key = await subtle.importKey("raw", toBytes(seed), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const hash = new DataView(await subtle.sign("HMAC", key, toBytes(token)));
    const low = hash.getUint32(4) >>> (2 * HIGH_BITS - ORDER_BITS);
    return hash.getUint32(0) * 2 ** (ORDER_BITS - HIGH_BITS) + low;
  } catch {
    return undefined;
  }
}
