/** What the plots make of two readings of `/metrics`. */

import { expect, test } from 'bun:test';
import { flows, operations, readMetrics, requests } from '../../src/console/browser/metrics.ts';

const text = (count: number) => `# HELP duet_requests_total Requests.
# TYPE duet_requests_total counter
duet_requests_total{route="/books/{id}",method="GET",status="200"} ${count}
duet_requests_total{route="/books/{id}",method="GET",status="404"} ${count / 4}
duet_requests_total{route="/books/{id}",method="GET",status="503"} ${count / 20}
duet_requests_total{route="/metrics",method="GET",status="200"} ${count}
duet_request_duration_seconds_bucket{route="/books/{id}",method="GET",le="0.001"} 0
duet_request_duration_seconds_bucket{route="/books/{id}",method="GET",le="0.005"} ${count}
duet_request_duration_seconds_bucket{route="/books/{id}",method="GET",le="+Inf"} ${count}
duet_graphql_operations_total{operation="a \\"b\\"",type="query",outcome="ok"} ${count}
`;
const reading = (at: number, count: number) => ({ at, samples: readMetrics(text(count)) });

test('rates are of the time between them, percentiles within the bucket that holds them', () => {
  expect(flows(requests, reading(1000, 40), reading(3000, 60))).toEqual([
    // All between 1 and 5 ms: the middle of it is the median.
    {
      name: 'GET /books/{id}',
      perSecond: 13,
      // Who asks for what is not there has made a mistake; the service has not.
      refusedPerSecond: 2.5,
      errorsPerSecond: 0.5,
      p50: 3,
      p95: expect.closeTo(4.8),
      p99: expect.closeTo(4.96),
    },
  ]);
});

test('requests to paths that nothing is at are told as such', () => {
  const samples = readMetrics('duet_requests_total{route="none",method="GET",status="404"} 2');
  expect(flows(requests, { at: 0, samples }, { at: 2000, samples })).toMatchObject([
    { name: 'GET (no such path)' },
  ]);
});

test('a service that began anew is counted from nothing; labels are unescaped', () => {
  const [flow] = flows(operations, reading(0, 1000), reading(2000, 10));
  expect(flow).toMatchObject({ name: 'query a "b"', perSecond: 5, p50: undefined });
});
