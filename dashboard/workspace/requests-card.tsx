import { refusalWords } from "../../contract/request-words";
import type { RefusedShape, RequestsShape, WorkspaceShape } from "../../proto/json/shapes";
import { Instant } from "../parts/instant";
import { GUIDES } from "../words/guides";
import { requestSums, type RefusalRow } from "../words/request-rows";
import { SignaturePlayground } from "./signature-playground";

export interface RequestsCardProps {
  readonly workspace: WorkspaceShape;
  /** Undefined until the stream has reported the requests. */
  readonly requests: RequestsShape | undefined;
}

/** Shows the bridge's requests of the last hour. For each status of refused requests, shows the reason and the fix. */
export function RequestsCard({ workspace, requests }: RequestsCardProps) {
  const sums = requests && requestSums(requests);
  return (
    <section class="card requests" aria-labelledby="requests-title">
      <h2 id="requests-title">Requests from the bridge</h2>
      {sums === undefined ? (
        <p class="hint">The requests are not known yet.</p>
      ) : (
        <>
          <p>
            Last hour: <strong>{sums.accepted}</strong> accepted,{" "}
            <strong class={sums.refused > 0 ? "is-refused" : ""}>{sums.refused}</strong> refused
          </p>
          {sums.rows.length > 0 && (
            <ul class="refusals" aria-label="Refused requests">
              {sums.rows.map((row) => (
                <RefusalItem key={row.status} row={row} />
              ))}
            </ul>
          )}
        </>
      )}
      <SignaturePlayground workspaceId={workspace.id} />
    </section>
  );
}

function RefusalItem({ row: { status, count, samples } }: { readonly row: RefusalRow }) {
  return (
    <li>
      <span class={`badge ${count > 0 ? "tone-bad" : "tone-idle"}`}>
        {status}
        {count > 0 && ` ×${count}`}
      </span>
      <div class="refusal-words">
        {samples.length === 0 && <p>No request of the last hour was kept as a sample.</p>}
        {samples.map((sample) => (
          <Sample key={`${sample.kind} ${sample.cause ?? ""}`} sample={sample} />
        ))}
      </div>
    </li>
  );
}

function Sample({ sample }: { readonly sample: RefusedShape }) {
  const { reason, fix } = refusalWords(sample);
  const { at, kind, method, address, signedText } = sample;
  return (
    <div class="refusal">
      <div>
        <p class="refusal-reason">
          <bdi>{reason}</bdi>
        </p>
        <p class="quiet">
          {method === "GET" ? "Poll" : "Post"} from <bdi>{address}</bdi>, <Instant at={at} as="ago" />
        </p>
      </div>
      <div>
        <p>
          {fix}
          {kind === "invalid" && <Reference method={method} />}
        </p>
        {signedText !== "" && (
          <p>
            Text to sign:{" "}
            <code class="signed-text" dir="ltr">
              {signedText}
              {Array.from(signedText).length >= SIGNED_TEXT_MAX && "…"}
            </code>
          </p>
        )}
      </div>
    </div>
  );
}

/** Links to the page that lists what a request can contain. */
function Reference({ method }: Pick<RefusedShape, "method">) {
  return method === "GET" ? (
    <>
      {" "}
      The <a href={GUIDES.api}>API reference</a> lists the parameters.
    </>
  ) : (
    <>
      {" "}
      The <a href={GUIDES.events}>event reference</a> lists the fields.
    </>
  );
}

/** Maximum number of characters of the signed text in a sample; core cuts longer texts. */
const SIGNED_TEXT_MAX = 64;
