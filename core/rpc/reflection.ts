import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { PROTOS } from "./wire-fault";

/** Adds server reflection, with the descriptors that buf generated from the protos. */
export function addReflection(server: Server): void {
  // The library reads only `fileDescriptorProtos` from a package definition.
  const files = [...PROTOS.files].map(({ proto }) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  const definition = { protos: { fileDescriptorProtos: files } };
  const reflection = new ReflectionService(
    definition as unknown as ConstructorParameters<typeof ReflectionService>[0],
  );
  reflection.addToServer(server);
}
