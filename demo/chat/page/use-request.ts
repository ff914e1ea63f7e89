import { useState } from "preact/hooks";

/** Returns `send` and `fault`. `fault` is the error message of the last request, or "" after a success. */
export function useRequest() {
  const [fault, setFault] = useState("");
  /** Resolves to whether the request succeeded. */
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
