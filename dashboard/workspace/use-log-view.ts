import { navigate, useHere } from "../router";
import { readLogView, readOpenRows, withLogView, withOpenRows, type LogView } from "../words/log-view";

export interface UsedLogView extends LogView {
  /** The names of the open rows. */
  readonly open: ReadonlySet<string>;
  /** Changes the filters or the page. All rows are then closed. */
  show(view: LogView): void;
  /** Opens a closed row, or closes an open row. */
  toggle(name: string): void;
}

/** Returns the part of the log that the page's URL names, and functions that change the URL. */
export function useLogView(): UsedLogView {
  const { pathname, searchParams } = useHere();
  const view = readLogView(searchParams);
  const open = readOpenRows(searchParams);
  const go = (query: URLSearchParams, to: LogView): void =>
    navigate(`${pathname}${withLogView(query, to)}`, { replace: true });
  return {
    ...view,
    open,
    show: (to) => go(withOpenRows(searchParams, new Set()), to),
    toggle(name) {
      const changed = new Set(open);
      if (!changed.delete(name)) changed.add(name);
      go(withOpenRows(searchParams, changed), view);
    },
  };
}
