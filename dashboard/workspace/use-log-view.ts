import { navigate, useHere } from "../router";
import { readLogView, withLogView, type LogView } from "../words/log-view";

/** Returns the part of the log that the page's URL names, and a function that changes the URL. */
export function useLogView(): readonly [LogView, (view: LogView) => void] {
  const { pathname, searchParams } = useHere();
  const show = (view: LogView): void =>
    navigate(`${pathname}${withLogView(searchParams, view)}`, { replace: true });
  return [readLogView(searchParams), show];
}
