import type { WhenClosed } from "./types.js";
/** The option `whenClosed` of a page whose visitors leave by closing it. */
export declare const leaveOnClose: WhenClosed;
