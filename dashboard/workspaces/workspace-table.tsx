import type { HealthShape, WorkspaceShape } from "../../proto/json/shapes";
import { useNow } from "../clock";
import { ModeBadge, ToneBadge } from "../parts/badge";
import { Instant } from "../parts/instant";
import { ErrorNotice } from "../parts/notice";
import { Link } from "../router";
import { healthWords } from "../words/health-words";
import { useHealths } from "./use-healths";

export interface WorkspaceTableProps {
  readonly workspaces: readonly WorkspaceShape[];
  readonly caption: string;
  /** Whether newer data is loading. */
  readonly busy: boolean;
}

export function WorkspaceTable({ workspaces, caption, busy }: WorkspaceTableProps) {
  const { views, error } = useHealths(workspaces);
  return (
    <>
      <ErrorNotice error={error} />
      <div class="card table-card">
        <table class="workspaces" aria-busy={busy}>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">Workspace</th>
              <th scope="col">Mode</th>
              <th scope="col">Health</th>
              <th scope="col" class="wide-only">
                Created
              </th>
            </tr>
          </thead>
          <tbody>
            {workspaces.map((workspace) => (
              <Row
                key={workspace.id}
                workspace={views[workspace.id]?.workspace ?? workspace}
                health={views[workspace.id]?.health ?? null}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Row({ workspace, health }: { readonly workspace: WorkspaceShape; readonly health: HealthShape }) {
  const now = useNow(5_000);
  const { id, name, mode, targetUrl, createdAt } = workspace;
  const { tone, label, sentence } = healthWords(workspace, health, now);
  return (
    <tr>
      <th scope="row">
        <Link class="row-link" href={`/workspaces/${id}`}>
          {name}
        </Link>
        <span class="under">{targetUrl === "" ? id : hostOf(targetUrl)}</span>
      </th>
      <td>
        <ModeBadge mode={mode} />
      </td>
      <td title={sentence}>
        <ToneBadge tone={tone}>{label}</ToneBadge>
      </td>
      <td class="wide-only quiet">
        <Instant at={createdAt} />
      </td>
    </tr>
  );
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
