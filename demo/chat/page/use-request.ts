import { useState } from "preact/hooks";

/** Sends requests, and keeps the fault of the last one, in words for the member; empty when it succeeded. */
export function useRequest() {
  const [fault, setFault] = useState("");
  /** Resolves when the request is answered: to true if it succeeded. */
  async function send(request: () => Promise<unknown>): Promise<boolean> {
    setFault("");
    try {
      await request();
      return true;
    } catch (error) {
      setFault((error as Error).message);
      return false;
    }
  }
  return { fault, send };
}
