import { STATUS_CODES } from "node:http";
import type { Answer } from "./bridge";

/** Fails unless an answer has the status `wanted`, the given `field`, and exactly the contract's error body. */
export function expectRefusal(
  { status, headers, body }: Pick<Answer, "status" | "headers" | "body">,
  wanted: number,
  field?: string,
): void {
  const json = JSON.parse(body.toString()) as Record<string, unknown>;
  expect({ status, field: json["field"] }).toEqual({ status: wanted, field });
  expect(json).toEqual({
    statusCode: wanted,
    message: expect.stringMatching(/\S/),
    ...(wanted === 413 ? {} : { error: STATUS_CODES[wanted] }),
    ...(field === undefined ? {} : { field }),
  });
  expect(headers["content-type"]).toMatch(/^application\/json\b/);
}
