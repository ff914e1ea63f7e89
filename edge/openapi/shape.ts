/** The parts of an OpenAPI 3.1 document that the edge uses. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<"title" | "version" | "description", string>> & {
    readonly license: Readonly<Record<"name" | "identifier", string>>;
  };
  readonly servers: readonly Readonly<Record<"url" | "description", string>>[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly Readonly<Record<"name" | "description", string>>[];
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<"get" | "post", Operation>>>>>;
  readonly webhooks: Readonly<Record<string, Readonly<Record<"post", Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<
      Record<string, Readonly<Record<"type" | "in" | "name" | "description", string>>>
    >;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Header {
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

export interface Parameter extends Header {
  readonly name: string;
  readonly in: "path" | "query" | "header";
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header>>;
  readonly content?: Content;
}

export type Content = Readonly<
  Record<"application/json", { readonly schema: Schema; readonly examples: Examples }>
>;
export type Examples = Readonly<Record<string, { readonly value: unknown }>>;

/** The keywords of JSON Schema 2020-12 that the edge uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly not?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly discriminator?: {
    readonly propertyName: string;
    readonly mapping: Readonly<Record<string, string>>;
  };
  /** Whether lone surrogates are rejected. */
  readonly "x-well-formed"?: boolean;
  /** Values that are known today. Other values may be added. */
  readonly "x-extensible-enum"?: readonly string[];
}

/** Returns the schema of a string. */
export function text(description: string, more: Schema = {}): Schema {
  return { type: "string", description, ...more };
}

export function refTo(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}
