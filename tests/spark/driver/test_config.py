"""The settings of a driver's JVM, tested without the guard: the JVM itself refuses attacks."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.spark.driver.config import CLOSED, build_properties, java_command
from headgate.spark.driver.ports import DriverPorts
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.driver_harness import settings
from tests.spark.guard.programs import run_program

pytestmark = pytest.mark.spark

PROGRAM = r"""
import java.io._
import java.net.ServerSocket
import java.rmi.Remote
import java.rmi.registry.LocateRegistry
import java.rmi.server.UnicastRemoteObject
import java.util.Hashtable
import javax.naming.{Context, Name, Reference}
import javax.naming.spi.{NamingManager, ObjectFactory}
import javax.xml.XMLConstants
import javax.xml.parsers.DocumentBuilderFactory
import javax.xml.transform.stream.StreamSource
import javax.xml.validation.SchemaFactory

class Factory extends ObjectFactory {
  def getObjectInstance(named: Any, name: Name, context: Context, environment: Hashtable[_, _]): AnyRef = "made"
}

object Attempts extends App {
  def attempt(name: String)(body: => Any): Unit =
    println(name + ": " + (try { body match { case text: String => text; case _ => "done" } } catch { case error: Throwable => error.getClass.getSimpleName + " " + error.getMessage }).replace('\n', ' '))

  def document(text: String) = new StringReader(text)
  val secret = args(0)

  attempt("entity in a schema") {
    val text = s"<!DOCTYPE s [<!ENTITY x SYSTEM 'file://$secret'>]><xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>&x;</xs:schema>"
    SchemaFactory.newInstance(XMLConstants.W3C_XML_SCHEMA_NS_URI).newSchema(new StreamSource(document(text)))
  }
  attempt("included schema") {
    val text = s"<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:include schemaLocation='file://$secret'/></xs:schema>"
    SchemaFactory.newInstance(XMLConstants.W3C_XML_SCHEMA_NS_URI).newSchema(new StreamSource(document(text)))
  }
  attempt("entity in a document") {
    val text = s"<!DOCTYPE s [<!ENTITY x SYSTEM 'file://$secret'>]><s>&x;</s>"
    DocumentBuilderFactory.newInstance.newDocumentBuilder.parse(new org.xml.sax.InputSource(document(text)))
  }
  attempt("many entities") {
    val levels = (1 to 12).map(n => s"<!ENTITY e$n '${s"&e${n - 1};" * 10}'>").mkString
    val text = s"<!DOCTYPE s [<!ENTITY e0 'x'>$levels]><s>&e12;</s>"
    DocumentBuilderFactory.newInstance.newDocumentBuilder.parse(new org.xml.sax.InputSource(document(text)))
  }

  def copied(value: AnyRef): AnyRef = {
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(value)
    new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject()
  }
  attempt("a gadget")(copied(new javax.management.BadAttributeValueExpException("x")))
  attempt("a class of windows")(copied(new javax.swing.event.EventListenerList))

  attempt("an object of a name service") {
    NamingManager.getObjectInstance(new Reference("java.lang.String", "Factory", null), null, null, new Hashtable[AnyRef, AnyRef])
  }
  attempt("a remote object") {
    val free = new ServerSocket(0)
    val port = free.getLocalPort
    free.close()
    LocateRegistry.createRegistry(port)
    LocateRegistry.getRegistry("127.0.0.1", port).rebind("x", UnicastRemoteObject.exportObject(new Remote {}, 0))
  }
  attempt("a list")(copied(new java.util.ArrayList[String]))
  attempt("a plan")(copied(org.apache.spark.sql.types.StructType.fromDDL("a INT")))
  sys.exit(0) // the registry has a thread
}
"""


@pytest.fixture(scope="module")
def outcomes(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the outcome of each attempt in a JVM that is started like the JVM of a driver."""
    folder = tmp_path_factory.mktemp("closed")
    (folder / "secret.xsd").write_text("top secret")
    said = run_program(toolchain, folder, PROGRAM, "Attempts", *CLOSED, argument=str(folder / "secret.xsd"))
    return dict(line.split(": ", 1) for line in said.splitlines())


@pytest.mark.parametrize("attempt", ["entity in a schema", "included schema", "entity in a document"])
def test_an_xml_document_opens_no_other_document(outcomes: dict[str, str], attempt: str) -> None:
    assert "not allowed due to restriction" in outcomes[attempt]
    assert "secret" not in outcomes[attempt].replace("secret.xsd", "")


def test_an_xml_document_expands_within_bounds(outcomes: dict[str, str]) -> None:
    assert 'more than "1000" entity expansions' in outcomes["many entities"]


def test_the_jvm_refuses_objects_that_act_when_they_are_deserialized(outcomes: dict[str, str]) -> None:
    assert "REJECTED" in outcomes["a gadget"]
    assert "REJECTED" in outcomes["a class of windows"]
    assert outcomes["a list"] == outcomes["a plan"] == "done"


def test_a_naming_service_creates_no_object(outcomes: dict[str, str]) -> None:
    assert outcomes["an object of a name service"] == "done"


def test_the_jvm_does_not_deserialize_a_remote_object(outcomes: dict[str, str]) -> None:
    assert "REJECTED" in outcomes["a remote object"]


def test_no_process_attaches_to_the_driver(toolchain: Toolchain) -> None:
    jvm = [str(toolchain.java), *CLOSED, "-XX:+PrintFlagsFinal", "-version"]
    flags = subprocess.run(jvm, check=True, timeout=60, capture_output=True, text=True).stdout

    assert any("DisableAttachMechanism" in line and "true" in line for line in flags.splitlines())


def test_spark_retains_few_ended_tasks(toolchain: Toolchain, tmp_path: Path) -> None:
    """Each retained task takes 0.5 KB. Spark's defaults are 1,000 stages and 100,000 tasks of each stage."""
    many = {f"spark.ui.retained{kind}": "100000" for kind in ("Jobs", "Stages", "Tasks")}
    given = replace(settings(toolchain, tmp_path, "http://127.0.0.1:1"), conf=many)

    kept = build_properties(given, DriverPorts(1, 2, 3))

    assert int(kept["spark.ui.retainedStages"]) * int(kept["spark.ui.retainedTasks"]) <= 10_000
    assert int(kept["spark.ui.retainedJobs"]) <= 100


def test_the_options_that_harden_the_jvm_are_in_its_command(toolchain: Toolchain, tmp_path: Path) -> None:
    assert set(CLOSED) <= set(java_command(settings(toolchain, tmp_path, "http://127.0.0.1:1")))
