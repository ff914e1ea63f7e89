import type { DeliveryShape } from "../../proto/json/shapes";

/** A row of the log: a delivery, or several neighbouring runs of polls without events. */
export interface LogRow {
  /** The id of the oldest entry, which stays the same while newer polls join the row. */
  readonly id: string;
  /** The entry; for several runs, their sum. */
  readonly delivery: DeliveryShape;
  /** The entries of the row, newest first. */
  readonly entries: readonly DeliveryShape[];
}

/**
 * Returns the rows for a list of deliveries. The list and the rows are sorted newest first. Neighbouring polls without
 * events share a row.
 */
export function toRows(deliveries: readonly DeliveryShape[]): readonly LogRow[] {
  const rows: LogRow[] = [];
  for (const delivery of deliveries) {
    const last = rows.at(-1);
    if (last !== undefined && isEmptyPoll(delivery) && isEmptyPoll(last.delivery)) {
      rows[rows.length - 1] = joined(last, delivery);
    } else {
      rows.push({ id: delivery.id, delivery, entries: [delivery] });
    }
  }
  return rows;
}

/** Whether a delivery is a run of polls that returned no events. */
export function isEmptyPoll({ polls, events }: DeliveryShape): boolean {
  return polls > 0 && events === 0;
}

function joined({ delivery: newer, entries }: LogRow, older: DeliveryShape): LogRow {
  const lastAt = newer.lastAt ?? newer.at;
  const delivery = { ...older, polls: older.polls + newer.polls, lastAt };
  return { id: older.id, delivery, entries: [...entries, older] };
}

export const ROWS_PER_PAGE = 20;

export interface PageOfRows {
  readonly rows: readonly LogRow[];
  /** Number of the page, from 1. If the log has fewer pages than the requested number, this is the last page. */
  readonly page: number;
  readonly pages: number;
}

export function pageOf(rows: readonly LogRow[], wanted: number): PageOfRows {
  const pages = Math.max(1, Math.ceil(rows.length / ROWS_PER_PAGE));
  const page = Math.min(Math.max(1, wanted), pages);
  return { rows: rows.slice((page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE), page, pages };
}
