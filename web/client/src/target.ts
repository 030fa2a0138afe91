// The address to which an admitted visitor goes.

// A path of the target's own origin: browsers read `//` and `/\` as the beginning of another host, and drop tabs and line
// breaks.
const OWN_PATH = /^\/(?![/\\])[^\\\x00-\x20]*$/;

/**
 * Fills in the queue's template: `{pass}`, and `{return}` with a path of the shop. Without `{pass}`, the pass becomes the
 * fragment, which no server logs.
 */
export function fillTarget(template: string, pass: string, returnTo = ""): string {
  const path = encodeURIComponent(OWN_PATH.test(returnTo) ? returnTo : "/");
  const address = template.replace("{return}", path);
  return address.includes("{pass}") ? address.replace("{pass}", pass) : `${address.replace(/#.*/, "")}#pass=${pass}`;
}
