import type {
  handleBidiStreamingCall,
  Server,
  ServerDuplexStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { PROTOS } from "./wire-fault";

const VERSIONS = ["v1", "v1alpha"];
const pathOf = (version: string): string =>
  `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;

/** The method of one version of the reflection service, as the library adds the method to a server. */
interface Method {
  readonly definition: ServiceDefinition[string];
  readonly handle: handleBidiStreamingCall<unknown, unknown>;
}

/**
 * Adds server reflection, with the descriptors that buf generated from the protos. The library is loaded at the first
 * call, because loading it would add 0.2 s to each start of core.
 */
export function addReflection(server: Server): void {
  let loading: Promise<ReadonlyMap<string, Method>> | undefined;
  for (const path of VERSIONS.map(pathOf)) {
    let method: Method | undefined;
    const loaded = (): Method => {
      if (method === undefined)
        throw new Error("a message of reflection was read before its method was loaded");
      return method;
    };
    const definition = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: (message: unknown) => loaded().definition.requestSerialize(message),
      requestDeserialize: (bytes: Buffer) => loaded().definition.requestDeserialize(bytes) as unknown,
      responseSerialize: (message: unknown) => loaded().definition.responseSerialize(message),
      responseDeserialize: (bytes: Buffer) => loaded().definition.responseDeserialize(bytes) as unknown,
    };
    // The server reads messages of the call only after the library's handler has begun to listen for them.
    const serve = async (call: ServerDuplexStream<unknown, unknown>): Promise<void> => {
      try {
        method = (await (loading ??= loadMethods())).get(path);
        loaded().handle(call);
      } catch (error) {
        call.emit("error", error);
      }
    };
    const handle: Method["handle"] = (call) => void serve(call);
    server.addService({ ServerReflectionInfo: definition }, { ServerReflectionInfo: handle });
  }
}

/** Loads the library, and returns its methods by their paths. */
async function loadMethods(): Promise<ReadonlyMap<string, Method>> {
  const { ReflectionService } = await import("@grpc/reflection");
  // The library reads only `fileDescriptorProtos` from a package definition.
  const files = [...PROTOS.files].map(({ proto }) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  const definition = { protos: { fileDescriptorProtos: files } };
  const reflection = new ReflectionService(
    definition as unknown as ConstructorParameters<typeof ReflectionService>[0],
  );
  const methods = new Map<string, Method>();
  const collector = {
    addService(service: ServiceDefinition, { ServerReflectionInfo: handle }: UntypedServiceImplementation) {
      for (const each of Object.values(service)) {
        methods.set(each.path, { definition: each, handle: handle as Method["handle"] });
      }
    },
  };
  reflection.addToServer(collector);
  return methods;
}
