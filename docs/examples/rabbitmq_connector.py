"""A connector to RabbitMQ: messages for a foreign system of MSMQ, and its answers.

Usage: rabbitmq_connector.py MANAGER forward CONNECTOR-QUEUE AMQP-URL
       rabbitmq_connector.py MANAGER answer RABBITMQ-QUEUE AMQP-URL

`forward` takes messages out of a connector queue, such as `CONNECTOR=GUID-of-the-site;XACTONLY`,
and publishes each to the queue of RabbitMQ that has the name of its destination. It is removed when
RabbitMQ has confirmed it: at least once, and in order. A crash between the two publishes it again,
with the same message_id, by which a consumer tells.

`answer` sends what comes back to the response queue of the first message: the consumer copies
correlation_id and headers and publishes to reply_to. The manager remembers the message_id of each
answer, so that one that RabbitMQ delivers again is sent once.

Run one process for each; whatever fails ends it, and a supervisor starts it again.
"""

import sys

import pika

import openmsmq
from openmsmq import Access, Message, ReceivedMessage

ANSWERS = "msmq-answers"
IDLE = 5.0
"Seconds after which RabbitMQ hears that we are still here."


def properties_of(message: ReceivedMessage) -> pika.BasicProperties:
    """What RabbitMQ gets to know of a message."""
    response = message.response_queue
    return pika.BasicProperties(
        message_id=message.id,
        correlation_id=message.identifier.hex(),
        delivery_mode=2 if message.recoverable else 1,
        priority=message.priority,
        reply_to=ANSWERS if response is not None else None,
        headers={
            "label": message.label,
            "msmq-response-queue": "" if response is None else str(response),
            "msmq-transactional": message.transactional,
        },
    )


def forward(manager: openmsmq.Manager, name: str, connection: pika.BlockingConnection) -> None:
    """Publish what comes into a connector queue."""
    channel = connection.channel()
    channel.confirm_delivery()  # basic_publish returns when the broker has it, or raises
    channel.queue_declare(ANSWERS, durable=True)
    known = set[str]()
    queue = manager.open_queue(name, access=Access.RECEIVE | Access.PEEK)
    with queue.stream(prefetch=100, timeout=IDLE, explicit=True) as stream:
        while True:
            for message in stream:
                target = str(message.destination_queue)
                if target not in known:
                    channel.queue_declare(target, durable=True)
                    known.add(target)
                channel.basic_publish(
                    "", target, message.body, properties_of(message), mandatory=True
                )
                stream.acknowledge(message)
            connection.process_data_events()


def answer(manager: openmsmq.Manager, name: str, connection: pika.BlockingConnection) -> None:
    """Send what RabbitMQ has in a queue to the queues that its headers name."""
    channel = connection.channel()
    channel.queue_declare(name, durable=True)
    channel.basic_qos(prefetch_count=100)
    for method, properties, body in channel.consume(name):
        headers = properties.headers or {}
        message = Message(
            body,
            label=headers.get("label", ""),
            correlation_id=bytes.fromhex(properties.correlation_id or ""),
        )
        queue = manager.open_queue(headers["msmq-response-queue"], access=Access.SEND)
        if headers.get("msmq-transactional"):
            with manager.transaction() as transaction:
                queue.send(message, transaction=transaction, dedup_id=properties.message_id)
        else:
            queue.send(message, dedup_id=properties.message_id)
        queue.close()
        channel.basic_ack(method.delivery_tag)


def main() -> None:
    """Work until something fails."""
    address, direction, name, url = sys.argv[1:]
    work = {"forward": forward, "answer": answer}[direction]
    with openmsmq.connect(address) as manager:
        work(manager, name, pika.BlockingConnection(pika.URLParameters(url)))


if __name__ == "__main__":
    main()
