const {
  KUBECONFIG = "",
  KUBERNETES_IMAGE = "docker.io/local/chat-bridge:1",
  KUBERNETES_NEXT_IMAGE = "docker.io/local/chat-bridge:2",
  KUBERNETES_REDIS_IMAGE = "docker.io/library/redis:7",
  KUBERNETES_PULL_POLICY = "IfNotPresent",
  KUBERNETES_MIN_READY_SECONDS = "60",
  KUBERNETES_REQUESTS_PER_SECOND = "48",
} = process.env;

/** The settings of these tests, which README.md describes. */
export const IMAGE = KUBERNETES_IMAGE;
export const NEXT_IMAGE = KUBERNETES_NEXT_IMAGE;
export const REDIS_IMAGE = KUBERNETES_REDIS_IMAGE;
export const PULL_POLICY = KUBERNETES_PULL_POLICY;
export const MIN_READY_SECONDS = Number(KUBERNETES_MIN_READY_SECONDS);
export const REQUESTS_PER_SECOND = Number(KUBERNETES_REQUESTS_PER_SECOND);

/** `describe` if `KUBECONFIG` is set, and otherwise `describe.skip`. */
export const describeInCluster = KUBECONFIG === "" ? describe.skip : describe;

/** Splits an image's name into repository and tag, for the chart's values. Throws if the name has no tag. */
export function imageValues(image: string): { readonly repository: string; readonly tag: string } {
  const [, repository, tag] = /^(.+):([^:/]+)$/.exec(image) ?? [];
  if (repository === undefined || tag === undefined)
    throw new Error(`the image ${image} has no tag: set KUBERNETES_IMAGE to a name with a tag`);
  return { repository, tag };
}
