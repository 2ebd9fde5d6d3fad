// IPS and IPS-IX of a gaussian policy over ten features in SQL, from a Parquet file: prints the median seconds.
// usage: node duckdb_rival.mjs FOLDER ROWS THREADS TIMES   (needs the npm package @duckdb/node-api; exit 1 without it)
import { createRequire } from 'node:module';
import path from 'node:path';

const [folder, rows, threads, times] = [process.argv[2], ...process.argv.slice(3).map(Number)];
let duckdb;
try {
  duckdb = createRequire(path.join(process.cwd(), 'package.json'))('@duckdb/node-api');
} catch {
  process.exit(1);
}
const connection = await (await duckdb.DuckDBInstance.create(':memory:')).connect();
await connection.run(`SET threads = ${threads}`);
const features = [...Array(10).keys()].map((j) => `x${j}`);
const parquet = path.join(folder, 'rows.parquet');
await connection.run(`COPY (SELECT ${features.map((x) => `random() AS ${x}`).join(', ')}, 2 * random() AS a,
  random() AS y, 0.1 + random() AS p FROM range(${rows})) TO '${parquet}' (FORMAT parquet, COMPRESSION uncompressed)`);
const mean = features.map((x) => `0.1 * ${x}`).join(' + ');
const query = `WITH weights AS (SELECT y, exp(-0.5 * pow((a - (${mean})) / 0.8, 2)) / (0.8 * sqrt(2 * pi())) / p AS w
    FROM '${parquet}')
  SELECT count(*), avg(w * y), avg(w / (1 + w / ${rows}) * y), stddev_samp(w / (1 + w / ${rows}) * y) FROM weights`;
const seconds = [];
for (let i = 0; i <= times; ++i) {
  const start = process.hrtime.bigint();
  const [[count, ips]] = await (await connection.runAndReadAll(query)).getRows();
  if (Number(count) !== rows || !(ips > 0)) process.exit(2);
  if (i > 0) seconds.push(Number(process.hrtime.bigint() - start) * 1e-9);
}
console.log(seconds.sort((a, b) => a - b)[Math.floor(seconds.length / 2)]);
