import * as fc from "fast-check";
import { failureCause } from "../../runtime/core-channel";
import { forAll } from "../harness/for-all";

test.each([
  [
    "No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ",
    "connect ECONNREFUSED 127.0.0.1:1",
  ],
  [
    "No connection established. Last error: undefined. Resolution note: ",
    "the connection failed without a cause",
  ],
  ["round_robin: No connection established. Last error: null", "the connection failed without a cause"],
  ["No connection established. Last error: null. Resolution note: no such name", "no such name"],
  [
    "No connection established. Last error: Socket closed. Resolution note: one of two",
    "Socket closed; one of two",
  ],
  ["Name resolution failed\nfor target dns:core:50051", "Name resolution failed for target dns:core:50051"],
  ["", "the call failed without a cause"],
])("the error text %j of a failed call is reduced to its cause", (details, cause) => {
  expect(failureCause(details)).toBe(cause);
});

test("a cause is one line, and is never empty", () => {
  forAll(fc.string(), (details) => expect(failureCause(details)).toMatch(/^.+$/));
});
