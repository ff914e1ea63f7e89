import { useEffect, useState } from "preact/hooks";
import { api, onWritten } from "../api";
import { ActionButton } from "../parts/action-button";
import { Instant } from "../parts/instant";
import { Loading } from "../parts/loading";
import { ErrorNotice } from "../parts/notice";
import { useLoad } from "../use-load";
import { CHANGE_TEXTS } from "../words/change-words";

const SHOWN_AT_FIRST = 5;

/** Lists what operators changed in the workspace. The list is read again after each change that this page makes. */
export function ChangesCard({ id }: { readonly id: string }) {
  const [writes, setWrites] = useState(0);
  useEffect(() => onWritten(() => setWrites((before) => before + 1)), []);
  const { data, error } = useLoad((signal, by) => api.changes(id, signal, by), [id, writes]);
  const [all, setAll] = useState(false);
  const shown = all ? data : data?.slice(0, SHOWN_AT_FIRST);
  return (
    <section class="card" aria-labelledby="changes-title">
      <h2 id="changes-title">Changes</h2>
      <ErrorNotice error={error} />
      {data === undefined && error === undefined && <Loading what="Loading the changes" />}
      {data?.length === 0 && <p class="empty-line">No changes are logged yet.</p>}
      {shown !== undefined && shown.length > 0 && (
        <ul class="changes">
          {shown.map(({ id: entry, at, by, change, detail }) => (
            <li key={entry}>
              <strong>{CHANGE_TEXTS[change]}</strong>
              {detail !== "" && <span class="change-detail">{detail}</span>}
              <span class="under">
                {by}, <Instant at={at} as="ago" />
              </span>
            </li>
          ))}
        </ul>
      )}
      {data !== undefined && data.length > SHOWN_AT_FIRST && !all && (
        <ActionButton look="quiet" onClick={() => setAll(true)}>
          Show all ({data.length})
        </ActionButton>
      )}
    </section>
  );
}
