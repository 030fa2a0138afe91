# The runner (`make run`) in a container. docs/container.md says how to run it.
#
#   docker build --tag vestibule-local .
#
# In a closed network, name your mirrors:
#
#   docker build --tag vestibule-local --build-arg RUST_IMAGE=MIRROR/rust:1.95.0-slim-bookworm \
#     --build-arg CARGO_MIRROR=sparse+https://MIRROR/index/ .
ARG RUST_IMAGE=rust:1.95.0-slim-bookworm
FROM ${RUST_IMAGE} AS build

# Another source of crates, as Cargo writes it. Empty for crates.io.
ARG CARGO_MIRROR=
WORKDIR /source
COPY . .
RUN sh infra/image-root.sh /image

# No shell and no package: the program, the libraries that it loads, and certificates.
FROM scratch
COPY --from=build /image/system /
COPY --from=build --chown=10001:10001 /image/data /data

USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
ENV PORT=8080 VESTIBULE_LISTEN=0.0.0.0
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["/usr/bin/vestibule-local", "health"]
ENTRYPOINT ["/usr/bin/vestibule-local", "--dir", "/data"]
