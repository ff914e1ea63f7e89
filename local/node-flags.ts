/**
 * Flags of Node for the processes of the service, as in the Dockerfile and the operator's guide.
 * Objects of a request or a push live for some milliseconds. Under load, Node's default young
 * generation of 16 MB fills up before they die, so many are promoted, and only a full garbage
 * collection frees them. With 64 MB, most have died by then.
 */
export const NODE_FLAGS: readonly string[] = ["--max-semi-space-size=64"];
