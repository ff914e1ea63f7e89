import { Notice } from "../parts/notice";
import { Instant } from "../parts/instant";
import type { Liveness } from "./workspace-watch";

const WORDS: Readonly<Record<Liveness, string>> = {
  live: "Live",
  connecting: "Connecting",
  "core-away": "Not live",
  "server-away": "Not live",
};

/** Says whether the page shows the current state. */
export function LivenessBadge({ liveness }: { readonly liveness: Liveness }) {
  return (
    <span class={`liveness ${liveness}`}>
      <span class="dot" aria-hidden="true" />
      {WORDS[liveness]}
    </span>
  );
}

/** Says why the page is not live. Shows nothing while the page is live or connecting. */
export function LivenessNotice({
  liveness,
  updatedAt,
}: {
  readonly liveness: Liveness;
  /** Time at which the page was last live; undefined if it has not been live yet. */
  readonly updatedAt: string | undefined;
}) {
  if (liveness === "live" || liveness === "connecting") return null;
  const who = liveness === "core-away" ? "The service's core" : "The dashboard's server";
  return (
    <Notice tone="warn">
      {who} does not answer. This page updates as soon as it answers again.
      {updatedAt !== undefined && (
        <>
          {" "}
          The page shows the state at <Instant at={updatedAt} as="time" />.
        </>
      )}
    </Notice>
  );
}
