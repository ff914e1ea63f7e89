import type { DeliveryDetailShape } from "../../proto/json/shapes";
import { msTime } from "../words/time-words";

/**
 * Shows the start of the body of the bridge's response to a failed attempt. `at` is the time of the attempt. The
 * region's label contains this time, so that screen readers can tell several responses apart.
 */
export function BridgeResponse({
  response,
  at,
}: Pick<DeliveryDetailShape, "response"> & { readonly at: string }) {
  return (
    <section class="log-part">
      <h3>The bridge's response</h3>
      {response === null && <p class="hint">The response had no body, or its body is no longer stored.</p>}
      {response !== null && (
        <>
          {/* The text can scroll, so it must be focusable for keyboard users. */}
          <pre
            class="payload"
            tabIndex={0}
            role="region"
            aria-label={`The bridge's response, ${msTime(at, Date.now())}`}
          >
            {response.text}
          </pre>
          {response.truncated && <p class="hint">Only the start of the body is stored.</p>}
        </>
      )}
    </section>
  );
}
