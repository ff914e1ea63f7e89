/**
 * What Node is told for the processes of the service; the Dockerfile and the operator's guide
 * say the same. What a request or a push needs is needed for some milliseconds. Under load the
 * 16 MB that Node has for what is young are full before that, so much of it counts as old, and
 * only a whole garbage collection frees it. With 64 MB most has gone by then.
 */
export const NODE_FLAGS: readonly string[] = ["--max-semi-space-size=64"];
