interface Line {
  /** The number of calls that started in this turn. */
  started: number;
  readonly waiting: (() => void)[];
}

/**
 * Returns a function that starts at most `perTurn` calls of a connection in each turn of the event loop. The calls of a
 * connection start in order. If many calls of a connection arrive together, gRPC emits all of them in one turn. Without
 * this limit, hundreds of calls of one client would delay the next call of every other client.
 */
export function createCallStarts(perTurn: number) {
  /** The connections with calls that started in this turn or are waiting. */
  const lines = new Map<object, Line>();

  function beginTurn(): void {
    for (const [connection, line] of lines) {
      const due = line.waiting.splice(0, perTurn);
      line.started = due.length;
      if (due.length === 0) lines.delete(connection);
      for (const start of due) start();
    }
    if (lines.size > 0) setImmediate(beginTurn);
  }

  return (connection: object, start: () => void): void => {
    if (lines.size === 0) setImmediate(beginTurn);
    const line = lines.get(connection) ?? { started: 0, waiting: [] };
    lines.set(connection, line);
    if (line.started >= perTurn) {
      line.waiting.push(start);
      return;
    }
    line.started += 1;
    start();
  };
}
