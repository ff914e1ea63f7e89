import type { DeliveryShape } from "../../proto/json/shapes";

/** A row of the log: all attempts of an event, a poll, or several neighbouring runs of polls without events. */
export interface LogRow {
  /** The id of the oldest entry, because this id does not change when newer entries join the row. */
  readonly id: string;
  /** The name of the row in the page's URL: the id of the event, or the row's id. */
  readonly name: string;
  /** The newest attempt, or the poll. Several runs of polls are combined into one delivery. */
  readonly delivery: DeliveryShape;
  /** The entries of the row, newest first. */
  readonly entries: readonly DeliveryShape[];
}

/**
 * Returns the rows for a list of deliveries. The list is sorted newest first, and the rows are sorted by their newest
 * entry. The attempts of an event share a row, and so do neighbouring polls without events.
 */
export function toRows(deliveries: readonly DeliveryShape[]): readonly LogRow[] {
  const rows: DeliveryShape[][] = [];
  const ofEvent = new Map<string, DeliveryShape[]>();
  for (const delivery of deliveries) {
    const last = rows.at(-1);
    const isJoined = last?.[0] !== undefined && isEmptyPoll(delivery) && isEmptyPoll(last[0]);
    const row = isJoined ? last : ofEvent.get(delivery.eventId);
    if (row !== undefined) {
      row.push(delivery);
      continue;
    }
    const started = [delivery];
    rows.push(started);
    // Polls have no event id.
    if (delivery.eventId !== "") ofEvent.set(delivery.eventId, started);
  }
  return rows.flatMap(rowOf);
}

function rowOf(entries: readonly DeliveryShape[]): readonly LogRow[] {
  const [newest, oldest] = [entries[0], entries.at(-1)];
  if (newest === undefined || oldest === undefined) return [];
  const { id } = oldest;
  if (!isEmptyPoll(newest)) return [{ id, name: newest.eventId || id, delivery: newest, entries }];
  const polls = entries.reduce((sum, each) => sum + each.polls, 0);
  return [{ id, name: id, delivery: { ...oldest, polls, lastAt: newest.lastAt ?? newest.at }, entries }];
}

/** Whether a delivery is a run of polls that returned no events. */
export function isEmptyPoll({ polls, events }: DeliveryShape): boolean {
  return polls > 0 && events === 0;
}

export const ROWS_PER_PAGE = 20;

export interface PageOfRows {
  readonly rows: readonly LogRow[];
  /** Number of the page, from 1. If the requested page does not exist, this is the last page. */
  readonly page: number;
  readonly pages: number;
}

export function pageOf(rows: readonly LogRow[], wanted: number): PageOfRows {
  const pages = Math.max(1, Math.ceil(rows.length / ROWS_PER_PAGE));
  const page = Math.min(Math.max(1, wanted), pages);
  return { rows: rows.slice((page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE), page, pages };
}
