import type { FastifyInstance } from "fastify";
import { BODY_MAX_BYTES } from "../../contract/numbers";
import { toSignatureCheckShape } from "../../proto/json/request-json";
import type { SignatureCheckShape } from "../../proto/json/shapes";
import type { OperatorOf } from "./workspace-client";

const HEADER_MAX = 4_096;
/** In JSON, a character of the text takes up to six bytes. */
const REQUEST_MAX_BYTES = 6 * BODY_MAX_BYTES + 8 * HEADER_MAX;
const CHECK = {
  body: {
    type: "object",
    additionalProperties: false,
    required: ["part", "text", "header"],
    properties: {
      part: { enum: ["body", "query"] },
      text: { type: "string", maxLength: BODY_MAX_BYTES },
      header: { type: "string", maxLength: HEADER_MAX },
    },
  },
} as const;

interface CheckRoute {
  readonly Params: { readonly id: string };
  readonly Body: { readonly part: "body" | "query"; readonly text: string; readonly header: string };
}

/** Adds `POST /workspaces/:id/check-signature`, which checks a signature and stores nothing. */
export function addSignatureRoute(app: FastifyInstance, operatorOf: OperatorOf): void {
  app.post<CheckRoute>(
    "/workspaces/:id/check-signature",
    { schema: CHECK, bodyLimit: REQUEST_MAX_BYTES },
    async (request): Promise<SignatureCheckShape> => {
      const { call, methods } = operatorOf(request);
      const { part, text, header } = request.body;
      const signed =
        part === "body" ? { $case: part, value: Buffer.from(text) } : ({ $case: part, value: text } as const);
      const check = { workspaceId: request.params.id, header, signed };
      return toSignatureCheckShape(await call(methods.checkSignature, check));
    },
  );
}
