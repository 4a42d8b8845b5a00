/** The server of `s3_server.ts`: its arguments are a directory for its data, and its buckets. */
// @ts-types="./s3rver.d.ts"
import S3rver from "@20minutes/s3rver";

const [directory, ...buckets] = Deno.args;
const server = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory,
  vhostBuckets: false,
  configureBuckets: buckets.map((name) => ({ name })),
});
const { port } = await server.run();
console.log(port);
