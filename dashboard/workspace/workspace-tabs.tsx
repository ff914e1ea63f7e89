import { Link } from "../router";

export type WorkspaceTab = "overview" | "settings";

/** The tabs of a workspace's page. Each tab is a link, so it has an address and opens in a new window. */
export function WorkspaceTabs({ id, shown }: { readonly id: string; readonly shown: WorkspaceTab }) {
  const path = `/workspaces/${encodeURIComponent(id)}`;
  const current = (tab: WorkspaceTab) => (tab === shown ? ({ "aria-current": "page" } as const) : {});
  return (
    <nav class="page-tabs" aria-label="This workspace">
      <Link href={path} {...current("overview")}>
        Overview
      </Link>
      <Link href={`${path}/settings`} {...current("settings")}>
        Settings
      </Link>
    </nav>
  );
}
