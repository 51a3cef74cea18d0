# One executable in a small image: `docker build -t duet .`, then see docs/deploy.md.
FROM node:22-bookworm-slim AS build
WORKDIR /src
COPY . .
# The console is built by the first, the executable by the second; nothing of Node is in the image that runs.
RUN npm install --omit=dev --no-audit --no-fund && npm run compile -- --outfile dist/duet

FROM debian:bookworm-slim
RUN useradd --uid 10001 --no-create-home --home-dir /app --shell /usr/sbin/nologin duet \
  && mkdir -p /app /data && chown duet /data
COPY --from=build /src/dist/duet /usr/local/bin/duet
# schema.graphql, and data.json if there is one, are mounted or copied here.
WORKDIR /app
# Where SQLite keeps its file: outside of it, everything can be read-only.
VOLUME /data
ENV HOST=0.0.0.0 PORT=4000 DATABASE_URL=sqlite:/data/duet.db
USER 10001
EXPOSE 4000
# SIGTERM lets accepted requests finish; the program takes it by itself, so no shell may stand in between.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["bash", "-c", \
  "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["duet"]
CMD ["serve"]
