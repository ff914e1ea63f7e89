import type { ComponentChildren } from "preact";
import type { SummaryShape, WorkspaceShape } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { ModeBadge, ToneBadge } from "../parts/badge";
import { Link } from "../router";
import { contactWords, stateWords } from "../words/list-words";
import { exactUtc } from "../words/time-words";
import { HourChart } from "./hour-chart";

/** A row of the list. */
export interface ListRow {
  readonly workspace: WorkspaceShape;
  /** Undefined while loading; null if core runs an older release. */
  readonly summary: SummaryShape | null | undefined;
  readonly isDeleted: boolean;
}

export interface WorkspaceTableProps {
  readonly rows: readonly ListRow[];
  readonly caption: string;
  /** Whether a newer list is loading. */
  readonly busy: boolean;
}

export function WorkspaceTable({ rows, caption, busy }: WorkspaceTableProps) {
  return (
    <Frame caption={caption} busy={busy}>
      {rows.map((row) => (
        <Row key={row.workspace.id} {...row} />
      ))}
    </Frame>
  );
}

const SKELETON_ROWS = 8;

/** The table before the first answer: grey bars in place of the rows. */
export function LoadingTable() {
  return (
    <>
      <p class="unseen" role="status">
        Loading workspaces …
      </p>
      <div aria-hidden="true">
        <Frame caption="" busy={false}>
          {Array.from({ length: SKELETON_ROWS }, (_, i) => (
            <tr key={i}>
              <th>
                <span class="skeleton wide" />
                <span class="under">
                  <span class="skeleton" />
                </span>
              </th>
              {["mode", "health", "hour", "contact"].map((each) => (
                <td key={each}>
                  <span class="skeleton" />
                </td>
              ))}
            </tr>
          ))}
        </Frame>
      </div>
    </>
  );
}

interface FrameProps {
  readonly caption: string;
  readonly busy: boolean;
  readonly children: ComponentChildren;
}

/** On small screens, the stylesheet shows rows as cards. The roles tell screen readers that they are still a table. */
function Frame({ caption, busy, children }: FrameProps) {
  return (
    <div class="card table-card">
      <table class="workspaces" role="table" aria-busy={busy}>
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader">
              Workspace
            </th>
            <th scope="col" role="columnheader">
              Mode
            </th>
            <th scope="col" role="columnheader">
              Health
            </th>
            <th scope="col" role="columnheader">
              Last hour
            </th>
            <th scope="col" role="columnheader">
              Last contact
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">{children}</tbody>
      </table>
    </div>
  );
}

function Row({ workspace, summary, isDeleted }: ListRow) {
  const now = useNow(5_000);
  const { id, name, mode, targetUrl } = workspace;
  const known = summary ?? null;
  const { tone, label } = isDeleted
    ? ({ tone: "idle", label: "Deleted" } as const)
    : stateWords(workspace, known?.state ?? null);
  const contact = known === null ? undefined : contactWords(known, now);
  return (
    <tr role="row">
      <th scope="row" role="rowheader">
        <Link class="row-link" href={`/workspaces/${id}`}>
          <bdi>{name}</bdi>
        </Link>
        <span class="under">{targetUrl === "" ? id : hostOf(targetUrl)}</span>
      </th>
      <td class="of-mode" role="cell">
        <ModeBadge mode={mode} />
      </td>
      <td class="of-health" role="cell">
        {summary === undefined ? <Skeleton /> : <ToneBadge tone={tone}>{label}</ToneBadge>}
      </td>
      <td class="of-hour" role="cell">
        {summary === undefined ? <Skeleton /> : <HourChart periods={known?.lastHour ?? []} now={now} />}
      </td>
      <td class="of-contact quiet" role="cell">
        {summary === undefined && <Skeleton />}
        {known !== null && contact === undefined && "never"}
        {contact !== undefined && (
          <>
            <time dateTime={contact.at} title={exactUtc(contact.at)}>
              {contact.ago}
            </time>{" "}
            · {contact.what}
          </>
        )}
      </td>
    </tr>
  );
}

function Skeleton() {
  return <span class="skeleton" aria-hidden="true" />;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
