// Values that outlast the page, as the client library stores them.

export { readStored, writeStored } from "../../client/src/stored.js";
