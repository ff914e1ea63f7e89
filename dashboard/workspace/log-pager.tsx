import { ActionButton } from "../parts/action-button";

export interface LogPagerProps {
  readonly page: number;
  readonly pages: number;
  onPage(page: number): void;
}

/** Shows nothing if the log fits on one page. */
export function LogPager({ page, pages, onPage }: LogPagerProps) {
  if (pages === 1) return null;
  return (
    <nav class="pager log-pager" aria-label="Pages of the log">
      <ActionButton disabled={page === 1} onClick={() => onPage(page - 1)}>
        Newer
      </ActionButton>
      <span class="pager-where" role="status">
        Page {page} of {pages}
      </span>
      <ActionButton disabled={page === pages} onClick={() => onPage(page + 1)}>
        Older
      </ActionButton>
    </nav>
  );
}
