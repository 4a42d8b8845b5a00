/** The parts of the package `@20minutes/s3rver` that are used; it has no types. */
export default class S3rver {
  constructor(options: {
    address: string;
    port: number;
    silent: boolean;
    directory: string;
    vhostBuckets: boolean;
    configureBuckets: { name: string }[];
  });
  run(): Promise<{ port: number }>;
}
