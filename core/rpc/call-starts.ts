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
  /** The line of each connection. The garbage collector frees a line together with its closed connection. */
  const lines = new WeakMap<object, Line>();
  /** The lines of the connections with calls that started in this turn or are waiting. */
  const active: Line[] = [];

  function beginTurn(): void {
    for (const line of active.splice(0)) {
      const due = line.waiting.splice(0, perTurn);
      line.started = due.length;
      if (due.length > 0) activate(line);
      for (const start of due) start();
    }
  }

  function activate(line: Line): void {
    if (active.length === 0) setImmediate(beginTurn);
    active.push(line);
  }

  function lineOf(connection: object): Line {
    const known = lines.get(connection);
    if (known !== undefined) return known;
    const line = { started: 0, waiting: [] };
    lines.set(connection, line);
    return line;
  }

  return (connection: object, start: () => void): void => {
    const line = lineOf(connection);
    if (line.started >= perTurn) {
      line.waiting.push(start);
      return;
    }
    if (line.started === 0) activate(line);
    line.started += 1;
    start();
  };
}
