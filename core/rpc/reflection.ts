import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { FILE_DESCRIPTOR_SET } from "../../proto/gen/descriptors";
import { eachField, WireReader } from "./wire-fields";

/** Adds server reflection, with the descriptors that buf generated from the protos. */
export function addReflection(server: Server): void {
  // The library reads only these bytes of a package definition.
  const definition = {
    protos: { fileDescriptorProtos: splitFiles(Buffer.from(FILE_DESCRIPTOR_SET, "base64")) },
  };
  const reflection = new ReflectionService(
    definition as unknown as ConstructorParameters<typeof ReflectionService>[0],
  );
  reflection.addToServer(server);
}

/** The files of a `FileDescriptorSet`, whose only field is the list of files. */
function splitFiles(set: Buffer): Buffer[] {
  const files: Buffer[] = [];
  const reader = new WireReader(set);
  eachField(reader, set.length, (_tag, end) => void files.push(set.subarray(reader.pos, end)));
  return files;
}
